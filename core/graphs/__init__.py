"""The columnar graph: public schema, immutable columns, formats."""
