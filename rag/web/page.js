// A marker opens the abstract below its quote and leads to the marked span; Escape leads back to the marker.
(() => {
  let lastMarker = null;
  document.addEventListener("click", (event) => {
    const marker = event.target.closest("a.marker");
    if (!marker) return;
    event.preventDefault();
    const quote = document.getElementById(marker.getAttribute("href").slice(1));
    if (!quote) return;
    lastMarker = marker;
    quote.closest("details").open = true;
    document.querySelectorAll("mark.shown").forEach((mark) => mark.classList.remove("shown"));
    quote.classList.add("shown");
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    quote.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    quote.focus({ preventScroll: true });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && lastMarker && document.activeElement?.tagName === "MARK") lastMarker.focus();
  });
})();
