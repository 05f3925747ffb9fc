// A table that is wider than its page becomes a list: each row a block of its cells,
// and each cell beside the name of its column.
function fitTables() {
  for (const box of document.querySelectorAll(".pst-scrollable-table-container")) {
    const table = box.querySelector("table");
    table.classList.remove("stacked");
    if (box.scrollWidth <= box.clientWidth) continue;
    const heads = [...table.querySelectorAll("thead th")].map((th) => th.innerText);
    const above = []; // what an empty first cell stands for
    for (const row of table.tBodies[0].rows) {
      let leading = true;
      [...row.cells].forEach((cell, i) => {
        const text = cell.textContent.trim();
        leading &&= !text;
        cell.dataset.head = heads[i] ?? "";
        cell.dataset.above = leading ? (above[i] ?? "") : "";
        cell.classList.toggle("nothing", !text && !cell.dataset.above);
        if (!leading) above[i] = text;
      });
    }
    table.classList.add("stacked");
  }
}
addEventListener("load", fitTables);
addEventListener("resize", fitTables);
document.addEventListener("toggle", fitTables, true); // what is opened has had no width
