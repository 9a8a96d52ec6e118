"""What travels over HTTP. These modules import pydantic only, so that the client can share them."""
