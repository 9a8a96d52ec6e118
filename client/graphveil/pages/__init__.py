"""Pages that compare: charts drawn by hand as SVG, self-contained HTML, no script."""
