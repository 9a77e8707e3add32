"""How an HDF5 file is opened, what of it is a sample, and how its rows are read, identified and copied."""
