// A graph that can be touched: drag a column, hover an edge to read what each witness says,
// click it to see the table behind it. The graph and all sentences come from the page (JSON).
document.querySelectorAll(".ds-graph").forEach(box => {
  const all = JSON.parse(box.querySelector("script[type='application/json']").textContent);
  const panel = box.querySelector(".ds-panel"), hint = panel.innerHTML;
  const node = { "label": "data(label)", "shape": "round-rectangle", "width": "data(width)",
    "height": 26, "background-color": "#f4f6f8", "border-width": 1, "border-color": "#555",
    "font-family": "system-ui, sans-serif", "font-size": 13, "color": "#111",
    "text-valign": "center", "text-halign": "center" };
  const edge = { "width": "data(width)", "line-color": "data(colour)",
    "line-style": "data(line)", "line-dash-pattern": "data(dash)",
    "target-arrow-color": "data(colour)", "target-arrow-shape": "data(head)",
    "arrow-scale": 1.1, "curve-style": "straight", "target-distance-from-node": 2,
    "source-distance-from-node": 2 };
  const bent = { "curve-style": "unbundled-bezier", "edge-distances": "node-position",
    "control-point-distances": "data(distances)", "control-point-weights": "data(weights)" };
  const strong = { "overlay-color": "#0072B2", "overlay-opacity": .18, "overlay-padding": 5 };
  box.classList.add("live");
  const cy = cytoscape({ container: box.querySelector(".ds-live"), elements: all.elements,
    layout: { name: "preset" }, userZoomingEnabled: false, boxSelectionEnabled: false,
    autounselectify: true, style: [
      { selector: "node", style: node }, { selector: "edge", style: edge },
      { selector: "edge[distances]", style: bent }, { selector: ".strong", style: strong },
      { selector: ".faint", style: { "opacity": .25 } } ] });
  const fit = () => { cy.resize(); cy.fit(undefined, 12); if (cy.zoom() > 1.1) { cy.zoom(1.1); cy.center(); } };
  const plain = () => cy.elements().removeClass("strong faint");
  let pinned = null;
  const show = (e, whole) => {
    plain(); e.addClass("strong");
    panel.innerHTML = e.data("said") + (whole ? e.data("table") : all.more);
  };
  cy.on("mouseover", "edge", event => { if (!pinned) show(event.target, false); });
  cy.on("mouseout", "edge", () => { if (!pinned) { plain(); panel.innerHTML = hint; } });
  cy.on("tap", event => {
    pinned = event.target !== cy && event.target.isEdge() ? event.target : null;
    if (pinned) show(pinned, true); else { plain(); panel.innerHTML = hint; }
  });
  cy.on("mouseover", "node", event => {
    if (!pinned) cy.elements().not(event.target.closedNeighborhood()).addClass("faint");
  });
  cy.on("mouseout", "node", () => { if (!pinned) plain(); });
  box.querySelectorAll("button").forEach(button => button.addEventListener("click", () => {
    const by = { "+": 1.25, "−": .8 }[button.textContent];
    if (by) cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    else { cy.nodes().forEach(n => n.position({ ...n.scratch("home") })); fit(); }
  }));
  cy.nodes().forEach(n => n.scratch("home", { ...n.position() }));
  window.addEventListener("resize", fit);
  fit();
});
// On paper everything is unfolded.
const folded = [];
window.addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])")
  .forEach(part => { part.open = true; folded.push(part); }));
window.addEventListener("afterprint", () => folded.splice(0).forEach(part => part.open = false));
