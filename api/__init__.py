"""The HTTP edge. It has thin routes over the workflows, one table of problems, an SDK and its command
line."""
