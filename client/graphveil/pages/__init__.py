"""Pages that compare. Charts are drawn by hand as SVG, self-contained HTML, no script."""
