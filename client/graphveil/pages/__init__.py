"""Pages that compare. Charts are written by hand as SVG, self-contained HTML, no script."""
