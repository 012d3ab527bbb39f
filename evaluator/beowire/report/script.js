// SPDX-License-Identifier: BSD-3-Clause
// Draws the charts in the page's colours, lets a box choose a distribution, sorts the table.
"use strict";

(function () {
  let figures = {};
  const charts = Array.from(document.querySelectorAll(".chart"));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const print = window.matchMedia("print");

  // On a narrow page the buttons would take a tenth of the width, and a long legend half the height.
  const NARROW = 600;
  const LEGEND_ROW = 20;
  const LEGEND_COLUMN = 220;
  const LEGEND_COLUMN_PRINTED = 150;

  // What the page holds packed: gzip, in base 85.
  const ALPHABET = "$alphabet";

  function unpacked(id) {
    const text = document.getElementById(id).textContent;
    const values = new Uint8Array(128);
    for (let value = 0; value < ALPHABET.length; value++) {
      values[ALPHABET.charCodeAt(value)] = value;
    }
    const bytes = new Uint8Array(Math.ceil(text.length / 5) * 4);
    for (let at = 0, to = 0; at < text.length; to += 4) {
      let word = 0;
      for (const end = at + 5; at < end; at++) {
        word = word * 85 + (at < text.length ? values[text.charCodeAt(at)] : 84);
      }
      for (let byte = 3; byte >= 0; byte--, word = Math.floor(word / 256)) {
        bytes[to + byte] = word % 256;
      }
    }
    const length = bytes.length - ((5 - (text.length % 5)) % 5);
    const packed = new Blob([bytes.subarray(0, length)]).stream();
    return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
  }

  const config = {
    displaylogo: false,
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
  function themed(layout, width, height) {
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
      width: width,
      height: height,
      // What a person hid or zoomed into survives drawing again.
      uirevision: "keep",
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: print.matches ? 10 : 13, color: ink },
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
        orientation: "v",
      },
      margin: { l: 60, r: width < NARROW ? 12 : 44, t: 12, b: 50 },
      legend: Object.assign(
        { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom" },
        layout.legend
      ),
    });
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      result[name] = Object.assign({}, axis, layout[name]);
      thin(result[name], (width - 60 - result.margin.r) / (layout.grid ? layout.grid.columns : 1));
      if (layout[name].minor) {
        result[name].minor = Object.assign({ gridcolor: colour("grid-minor") }, layout[name].minor);
      }
    }
    return result;
  }

  // Leaves out every second, third, ... label where all of them do not fit.
  function thin(axis, room) {
    const step = axis.ticktext ? Math.ceil((axis.ticktext.length * 60) / Math.max(room, 60)) : 1;
    if (step > 1) {
      axis.tickvals = axis.tickvals.filter((_, at) => at % step === 0);
      axis.ticktext = axis.ticktext.filter((_, at) => at % step === 0);
    }
  }

  // The wire's line has no driver's colour: it is drawn in the page's ink.
  function inked(data) {
    const soft = { color: colour("soft") };
    return data.map((trace) =>
      trace.meta && trace.meta.wire
        ? Object.assign({}, trace, {
            line: Object.assign({}, soft, trace.line),
            marker: Object.assign({}, trace.marker, {
              line: Object.assign({}, soft, trace.marker && trace.marker.line),
            }),
            textfont: soft,
          })
        : trace
    );
  }

  // Where there are many drivers, those that the boxes name are drawn.
  const boxes = Array.from(document.querySelectorAll('.chooser input[name="driver"]'));

  function isShown() {
    const names = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    return (driver) => boxes.length === 0 || driver === undefined || names.has(driver);
  }

  function chosenOnly(data) {
    const shown = isShown();
    return data.filter((trace) => shown(trace.meta && trace.meta.driver));
  }

  function boxOf(chart) {
    return document.querySelector('select[data-chart="' + chart.dataset.figure + '"]');
  }

  function chosen(chart) {
    const figure = figures[chart.dataset.figure];
    const box = boxOf(chart);
    return box && figure.choices ? figure.choices[box.value] : figure.data;
  }

  // A bar's name in two lines, or it would leave the bar no room.
  function shorten(bar) {
    bar.y = bar.y.map((name) => name.replace(" over ", "<br>over "));
  }

  function draw(chart) {
    if (!window.Plotly) {
      return Promise.resolve(); // it will be drawn when all is unpacked
    }
    const figure = figures[chart.dataset.figure];
    // Copies: plotly writes into what it is given, and would mistake its own marks for ours.
    const data = chosenOnly(structuredClone(chosen(chart)));
    const narrow = chart.clientWidth < NARROW;
    if (narrow) {
      data.filter((trace) => trace.orientation === "h").forEach(shorten);
    }
    chart.style.height = "";
    // A legend stands above the curves, and not on them: what it takes is added.
    const entries = data.filter((trace) => trace.showlegend !== false).length;
    const column = print.matches ? LEGEND_COLUMN_PRINTED : LEGEND_COLUMN;
    const rows = Math.ceil(entries / (narrow ? 1 : Math.floor(chart.clientWidth / column)));
    const spare = Math.max(0, rows - (print.matches ? 1 : narrow ? 5 : 3)) * LEGEND_ROW;
    chart.style.height = chart.clientHeight + spare + "px";
    const layout = themed(structuredClone(figure.layout), chart.clientWidth, chart.clientHeight);
    const box = boxOf(chart);
    if (box) {
      layout.xaxis.uirevision = box.value; // another size is another range of times
    }
    const buttons = Object.assign({}, config, { displayModeBar: narrow ? false : "hover" });
    return Plotly.react(chart, inked(data), layout, buttons);
  }

  function sortBy(table, column, heading) {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th[aria-sort]")) {
      other.removeAttribute("aria-sort");
    }
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.cells[column];
      const text = "value" in cell.dataset ? cell.dataset.value : cell.textContent;
      return text === "–" ? "" : /^[\d,.-]+$/.test(text) ? text.replaceAll(",", "") : text;
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

  // One after the other, and a frame between them, so that the first are there at once.
  async function drawAll() {
    for (const chart of charts) {
      await draw(chart);
      await new Promise((done) => setTimeout(done));
    }
    document.documentElement.setAttribute("data-drawn", "yes");
  }

  const redraw = () => window.Plotly && charts.forEach(draw);
  dark.addEventListener("change", redraw);
  print.addEventListener("change", redraw);
  let resizing = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(redraw);
  });

  for (const box of document.querySelectorAll("select[data-chart]")) {
    box.addEventListener("change", () =>
      draw(document.querySelector('.chart[data-figure="' + box.dataset.chart + '"]'))
    );
  }

  const only = document.getElementById("only-chosen");

  function choose(change) {
    boxes.forEach(change);
    applyChoice();
  }

  function applyChoice() {
    const count = boxes.filter((box) => box.checked).length;
    document.querySelector(".chooser summary span").textContent = count + " of " + boxes.length;
    redraw();
    filterRows();
  }

  function filterRows() {
    const shown = isShown();
    for (const row of document.querySelectorAll("#all-results tbody tr, #all-probes tbody tr")) {
      row.hidden = only !== null && only.checked && !shown(row.dataset.driver);
    }
  }

  if (boxes.length > 0) {
    const which = {
      first: (box) => (box.checked = "first" in box.dataset),
      all: (box) => (box.checked = true),
      none: (box) => (box.checked = false),
    };
    for (const button of document.querySelectorAll("[data-choose]")) {
      button.addEventListener("click", () => choose(which[button.dataset.choose]));
    }
    for (const button of document.querySelectorAll("[data-group]")) {
      const group = Array.from(button.closest("fieldset").querySelectorAll("input"));
      button.addEventListener("click", () => {
        const all = group.every((box) => box.checked);
        choose((box) => (box.checked = group.includes(box) ? !all : box.checked));
      });
    }
    boxes.forEach((box) => box.addEventListener("change", applyChoice));
    if (only !== null) {
      only.addEventListener("change", filterRows); // it goes with the rows, where they are too many
    }
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) =>
      heading.querySelector("button").addEventListener("click", () => sortBy(table, column, heading))
    );
  }

  async function begin() {
    if (charts.length > 0) {
      try {
        figures = JSON.parse(await unpacked("figures"));
        const code = document.createElement("script");
        code.textContent = await unpacked("plotly");
        document.head.appendChild(code);
      } catch (error) {
        const note = document.createElement("p");
        note.className = "warnings";
        note.textContent =
          "The charts need a browser of 2023 or later (" + error + "). All figures are in the tables, or in the record.";
        document.getElementById("charts").prepend(note);
        return;
      }
    }
    await drawAll();
  }

  begin();
})();
