"use strict";
// A click on a heading sorts the rows by that column; a second click turns the order round.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [row.cells[place].dataset.key, row]);
    const numeric = body.querySelector(`td:nth-child(${place + 1}).number`) !== null;
    keyed.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === ""); // empty cells stay last
      const order = numeric ? Number(a) - Number(b) : a.localeCompare(b);
      return up ? order : -order;
    });
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...keyed.map(([, row]) => row));
  }));
}
