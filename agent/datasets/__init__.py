"""Spreadsheets and other files, made into tables that can only be read."""
