// The leaderboard's tables, one at a time, sorted by the column that was clicked. Without this script all are shown.
(() => {
  "use strict";

  const number = (cell) => (cell.dataset.value === "" ? Infinity : Number(cell.dataset.value));
  const name = (row) => row.cells[0].textContent;

  function sortBy(table, index, ascending) {
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const order = index === 0 ? name(a).localeCompare(name(b)) : number(a.cells[index]) - number(b.cells[index]);
      return ascending ? order : -order;
    });
    body.append(...rows);
    [...table.tHead.rows[0].cells].forEach((cell, at) =>
      at === index ? cell.setAttribute("aria-sort", ascending ? "ascending" : "descending") : cell.removeAttribute("aria-sort"));
  }

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((cell, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      button.addEventListener("click", () => sortBy(table, index, cell.getAttribute("aria-sort") !== "ascending"));
      cell.replaceChildren(button);
    });
  }

  function choice(board, sections) {
    const label = document.createElement("label");
    label.textContent = "Graph and epsilon";
    const select = document.createElement("select");
    const groups = new Map();
    sections.forEach((section, index) => {
      const family = section.dataset.family;
      if (!groups.has(family)) {
        const group = document.createElement("optgroup");
        group.label = family;
        groups.set(family, group);
        select.append(group);
      }
      groups.get(family).append(new Option(section.dataset.table, String(index)));
    });
    const show = () => sections.forEach((section, index) => { section.hidden = String(index) !== select.value; });
    select.addEventListener("change", show);
    label.append(select);
    const bar = document.createElement("div");
    bar.className = "leaderboard-choice";
    bar.append(label);
    board.before(bar);
    const preferred = sections.findIndex((section) => section.dataset.table === "Facebook, epsilon 1");
    select.value = String(Math.max(0, preferred));
    show();
  }

  document.querySelectorAll("[data-leaderboard]").forEach((board) => {
    const sections = [...board.querySelectorAll("section")];
    sections.forEach((section) => sortable(section.querySelector("table")));
    choice(board, sections);
  });
})();
