// SPDX-License-Identifier: BSD-3-Clause
// Draws the charts in the page's colours, lets a box choose a distribution, sorts the table.
"use strict";

(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const charts = Array.from(document.querySelectorAll(".chart"));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const print = window.matchMedia("print");

  const config = {
    displaylogo: false,
    responsive: true,
    // Named one by one: what plotly adds by itself may open a page of its makers'.
    modeBarButtons: [
      ["toImage"],
      ["zoom2d", "pan2d"],
      ["zoomIn2d", "zoomOut2d", "resetScale2d"],
    ],
    plotlyServerURL: "",
    toImageButtonOptions: { format: "svg", filename: "beowire" },
  };

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  // The figure's own layout, with what depends on the page: colours, fonts, room.
  function themed(layout) {
    const ink = colour("ink");
    const axis = {
      gridcolor: colour("grid"),
      linecolor: colour("line"),
      zerolinecolor: colour("grid"),
      tickcolor: colour("line"),
      ticks: "outside",
      showline: true,
      automargin: true,
    };
    const result = Object.assign({}, layout, {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink },
      hoverlabel: {
        bgcolor: colour("panel"),
        bordercolor: colour("line"),
        font: { color: ink },
        align: "left",
      },
      modebar: {
        bgcolor: "rgba(0,0,0,0)",
        color: colour("soft"),
        activecolor: colour("accent"),
        orientation: "h",
      },
      margin: { l: 60, r: 16, t: 12, b: 50 },
      legend: Object.assign(
        { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom" },
        layout.legend
      ),
    });
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      result[name] = Object.assign({}, axis, layout[name]);
      if (layout[name].minor) {
        result[name].minor = Object.assign({ gridcolor: colour("grid-minor") }, layout[name].minor);
      }
    }
    return result;
  }

  // The wire's line has no driver's colour: it is drawn in the page's ink.
  function inked(data) {
    return data.map((trace) =>
      trace.meta === "wire"
        ? Object.assign({}, trace, {
            line: Object.assign({ color: colour("soft") }, trace.line),
            textfont: { color: colour("soft") },
          })
        : trace
    );
  }

  function chosen(chart) {
    const figure = figures[chart.dataset.figure];
    const box = document.querySelector('select[data-chart="' + chart.dataset.figure + '"]');
    return box && figure.choices ? figure.choices[box.value] : figure.data;
  }

  function draw(chart) {
    const figure = figures[chart.dataset.figure];
    return Plotly.react(chart, inked(chosen(chart)), themed(figure.layout), config);
  }

  function sortBy(table, column, heading) {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th[aria-sort]")) {
      other.removeAttribute("aria-sort");
    }
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.cells[column];
      return "value" in cell.dataset ? cell.dataset.value : cell.textContent;
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

  const drawn = Promise.all(charts.map(draw));
  const redraw = () => charts.forEach(draw);
  dark.addEventListener("change", redraw);
  print.addEventListener("change", redraw);

  for (const box of document.querySelectorAll("select[data-chart]")) {
    box.addEventListener("change", () =>
      draw(document.querySelector('.chart[data-figure="' + box.dataset.chart + '"]'))
    );
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) =>
      heading.querySelector("button").addEventListener("click", () => sortBy(table, column, heading))
    );
  }

  drawn.then(() => document.documentElement.setAttribute("data-drawn", "yes"));
})();
