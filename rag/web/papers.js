// A click on what carries data-action becomes the event `act`. What had the focus has it again when its HTML was made anew; a paper's
// page that opens takes the focus, and closing it gives it back to the paper's place in the list.
const host = element.closest(".papers-tab");
const same = (one, other) => ["action", "column", "page", "paper"].every((name) => (one[name] ?? "") === (other[name] ?? ""));
const isTyping = () => !!document.activeElement?.matches("input, textarea, select");
const focus = (goal, tries) => {  // waits for a tab that is about to be shown
  if (element.offsetParent) { if (!isTyping()) goal.focus({ preventScroll: true }); }
  else if (tries) setTimeout(() => focus(goal, tries - 1), 50);
};
let wanted = null, landed = "", wasEmpty = !element.querySelector("[data-action]");
element.addEventListener("click", (event) => {
  const target = event.target.closest("[data-action]");
  if (!target || !element.contains(target) || target.disabled) return;
  event.preventDefault();
  wanted = { ...target.dataset };
  trigger("act", { ...target.dataset });
});
if (host) new MutationObserver(() => {
  const actions = [...element.querySelectorAll("[data-action]")];
  const landing = element.querySelector("[data-landing]");
  const last = host.dataset.paper;
  let goal = null, isGoingUp = false;
  if ((landing?.dataset.landing ?? "") !== landed) {
    landed = landing?.dataset.landing ?? "";
    if (landing) { host.dataset.paper = landed; goal = landing; isGoingUp = true; }
  } else if (wanted) {
    goal = actions.find((one) => same(one.dataset, wanted) && !one.disabled);
    isGoingUp = wanted.action === "page";
    if (!goal && wanted.action === "page") goal = actions.find((one) => one.dataset.action === "page" && !one.disabled);
    if (wanted.action === "similar") {
      goal = element.querySelector(".similar a") ?? goal;
      element.querySelector(".similar")?.scrollIntoView({ block: "nearest" });
    }
    if (!goal && element.querySelector(".paper-tools")) goal = element.querySelector(".paper-tools button");
  } else if (wasEmpty && last && actions.length) {
    goal = actions.find((one) => one.dataset.paper === last);
    goal?.scrollIntoView({ block: "center" });
    host.dataset.paper = "";
  }
  wasEmpty = !actions.length;
  if (goal) focus(goal, 20);
  if (isGoingUp && element.getBoundingClientRect().top < 0) host.scrollIntoView({ block: "start" });
  wanted = null;
}).observe(element, { childList: true, subtree: true });
