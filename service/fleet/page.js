// Search, order and CSV for the tables of the fleet's page.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  if (rows.length < 2) continue;
  const button = (text, act) => Object.assign(document.createElement("button"), { type: "button", textContent: text, onclick: act });
  const search = Object.assign(document.createElement("input"), { type: "search", placeholder: "Search", ariaLabel: "Search the table" });
  const few = (on) => (table.classList.toggle("few", on), (all.hidden = !on));
  const all = button(`All ${rows.length}`, () => few(false));
  const csv = button("CSV", () => {
    const quoted = (cell) => `"${cell.innerText.replaceAll("\n", " ").replaceAll('"', '""')}"`;
    const text = [...table.rows].map((row) => [...row.cells].map(quoted).join(",")).join("\r\n");
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "fleet.csv" });
    link.click();
  });
  search.oninput = () => {
    few(!search.value && rows.length > 8);
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(search.value.toLowerCase());
  };
  const tools = Object.assign(document.createElement("div"), { className: "tools" });
  tools.append(search, csv, all);
  table.parentElement.before(tools);
  few(rows.length > 8);
  const value = (row, at) => row.cells[at].innerText.trim();
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    let up = false;
    const order = button(head.textContent || "name", () => {
      up = !up;
      const by = (a, b) => value(a, at).localeCompare(value(b, at), "en", { numeric: true });
      body.append(...rows.sort((a, b) => (up ? -by(a, b) : by(a, b))));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "descending" : "ascending");
    });
    head.replaceChildren(order);
  });
}
