//! Reads a directory of definitions into .
