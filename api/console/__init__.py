"""The console's pages for people. They stand over the same workflows as the API's routes."""
