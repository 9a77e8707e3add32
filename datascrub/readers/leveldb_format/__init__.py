"""The files of a LevelDB, read without LevelDB: what plyvel does not tell (which blocks, log records and tables are damaged) is found here."""
