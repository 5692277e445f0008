//! Compares canonical forms field by field.
