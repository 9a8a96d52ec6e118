"""Parts that several generators use. The registry passes over names that begin with an underscore."""
