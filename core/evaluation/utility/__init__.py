"""One module a family of metrics; each takes :class:`core.evaluation.view.UndirectedView` or plain arrays."""
