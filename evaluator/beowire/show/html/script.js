// SPDX-License-Identifier: BSD-3-Clause
// What the page does besides being there: values beside the pointer, tables that sort, and all of
// it unfolded on paper.
"use strict";

(function () {
  const values = document.createElement("div");
  values.id = "values";
  values.hidden = true;
  document.body.appendChild(values);

  // What is over a chart has its values as a title, which browsers show late, and phones never.
  const said = new Map();
  for (const title of document.querySelectorAll(".plot title")) {
    said.set(title.parentNode, title.textContent);
    title.remove();
  }

  function show(event) {
    const text = said.get(event.target);
    values.hidden = text === undefined;
    if (text === undefined) {
      return;
    }
    values.textContent = text;
    const room = document.documentElement.clientWidth - values.offsetWidth - 8;
    const left = event.clientX + 16 > room ? event.clientX - values.offsetWidth - 16 : event.clientX + 16;
    values.style.left = Math.max(8, Math.min(left, room)) + "px";
    values.style.top = Math.max(8, Math.min(event.clientY + 16, innerHeight - values.offsetHeight - 8)) + "px";
  }
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => (values.hidden = true), { passive: true });

  function sortBy(table, column, heading) {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th[aria-sort]")) {
      other.removeAttribute("aria-sort");
    }
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    // Of several figures in a cell the first.
    const value = (row) => {
      const text = row.cells[column].textContent;
      const number = /^-?[\d,]*\.?\d+(?=$|[ ,%])/.exec(text);
      return text === "–" ? "" : number ? number[0].replaceAll(",", "") : text;
    };
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      // What is not known comes last, whichever way it is sorted.
      if (x === "" || y === "") {
        return (x === "") - (y === "");
      }
      const order = isNaN(x) || isNaN(y) ? x.localeCompare(y, "en") : Number(x) - Number(y);
      return descending ? -order : order;
    };
    const body = table.tBodies[0];
    Array.from(body.rows).sort(compare).forEach((row) => body.appendChild(row));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) =>
      heading.querySelector("button").addEventListener("click", () => sortBy(table, column, heading))
    );
  }

  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = Array.from(document.querySelectorAll("details:not([open])"));
    unfolded.forEach((one) => (one.open = true));
  });
  window.addEventListener("afterprint", () => unfolded.forEach((one) => (one.open = false)));
})();
