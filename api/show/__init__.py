"""From what workflows return to what callers see. There are views, pages, reports of streams, the OpenAPI
document."""
