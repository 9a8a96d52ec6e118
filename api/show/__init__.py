"""From what workflows return to what callers see: views, pages, reports of streams, the OpenAPI document."""
