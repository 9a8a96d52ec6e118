"""The release report: one versioned document with a public and a curator part."""
