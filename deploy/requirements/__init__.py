"""What the images install, each file by its digest."""
