"""The console: pages for people over the same workflows as the API's routes."""
