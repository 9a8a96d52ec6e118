"""Object storage. It is a folder or S3, one small surface; sealed streams for private content."""
