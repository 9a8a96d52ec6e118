"""The release report, in two parts. It is one versioned document with a public and a curator part."""
