"""What containers of keys and values share."""
