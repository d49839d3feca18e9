// What makes the pages quick. Everything here can also be done without it.
// No text from the server becomes markup except whole pages of this server.

const page = trustedTypes.createPolicy("wakeful", { createHTML: (html) => html });
const $ = (query, within = document) => within.querySelector(query);
const all = (query, within = document) => [...within.querySelectorAll(query)];
const token = $('meta[name="form-token"]')?.content ?? "";
document.documentElement.classList.add("js");

const say = (text) => { $("#said").textContent = text; };

// --- moving about -------------------------------------------------------------

const rows = () => all(".row").filter((row) => row.offsetParent);
let here = null;

function go(step) {
  const list = rows();
  if (!list.length) return;
  const at = list.indexOf(here);
  const next = at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + step));
  here?.classList.remove("here");
  here = list[next];
  here.classList.add("here");
  const link = $("a.head", here);
  (link ?? here).focus({ preventScroll: true });
  here.scrollIntoView({ block: "nearest" });
}

document.addEventListener("focusin", (event) => {
  const row = event.target.closest?.(".row");
  if (row && row !== here) {
    here?.classList.remove("here");
    here = row;
    here.classList.add("here");
  }
});

function tick() {
  const box = here && $('input[type="checkbox"]', here);
  if (box) { box.checked = !box.checked; ticked(); }
}

function ticked() {
  const some = all('.row input[type="checkbox"]:checked').length;
  $("#many")?.classList.toggle("on", some > 0);
  if (some) say(`${some} ticked`);
}
document.addEventListener("change", (event) => { if (event.target.name === "id") ticked(); });

// --- answering ----------------------------------------------------------------

async function send(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "wakeful-form": token },
    body: JSON.stringify(body ?? {}),
  });
  const text = await response.text();
  return { ok: response.ok, status: response.status, body: text ? JSON.parse(text) : {} };
}

const past = { approved: "Approved", rejected: "Rejected", redirected: "Redirected" };
let undoing = null;

function toast(text, undo) {
  $("#toast")?.remove();
  clearTimeout(undoing?.timer);
  const box = document.createElement("div");
  box.id = "toast";
  box.setAttribute("role", "status");
  box.append(text);
  undoing = null;
  if (undo) {
    const button = document.createElement("button");
    button.textContent = "Undo (u)";
    button.addEventListener("click", undo);
    box.append(button);
    undoing = { undo, timer: setTimeout(() => { box.remove(); undoing = null; }, 5000) };
  } else {
    setTimeout(() => box.remove(), 6000);
  }
  document.body.append(box);
}

async function answer(id, status, row) {
  const { ok, status: code, body } = await send(`/api/v1/inbox/${id}/respond`, { status, hold_seconds: 5 });
  if (!ok) {
    toast(code === 409 ? `${body.detail ?? "Someone else was first."}` : body.detail ?? "That did not work.");
    return false;
  }
  const back = leave(row);
  toast(past[status], async () => {
    const undone = await send(`/api/v1/inbox/${id}/undo`);
    if (undone.ok) {
      back();
    } else {
      toast(undone.body.detail ?? "Too late: it is final.");
    }
  });
  return true;
}

// Takes a row away and goes to the next; gives what brings it back.
function leave(row) {
  const list = rows();
  const next = list[list.indexOf(row) + 1] ?? list[list.indexOf(row) - 1];
  const mark = document.createComment("");
  row.replaceWith(mark);
  here = null;
  if (next) $("a.head", next)?.focus();
  return () => {
    mark.replaceWith(row);
    $("a.head", row)?.focus();
    toast("Taken back");
  };
}

// For an hour; for none, it is back.
async function aside(row) {
  const snooze = async (hours) => {
    const body = new URLSearchParams({ token, hours });
    const sent = await fetch(`/items/${row.dataset.id}/snooze`, { method: "POST", body, redirect: "manual" });
    if (sent.type !== "opaqueredirect") toast("That did not work.");
    return sent.type === "opaqueredirect";
  };
  if (!(await snooze("1"))) return;
  const back = leave(row);
  toast("Put aside for an hour", async () => (await snooze("")) && back());
}

// --- the editor ----------------------------------------------------------------

const edited = $("#edited");
edited?.addEventListener("input", () => {
  const told = $("#edited-said");
  if (!edited.hasAttribute("data-json")) { told.textContent = ""; return; }
  try {
    const value = JSON.parse(edited.value);
    const fits = value !== null && typeof value === "object" && !Array.isArray(value);
    edited.setCustomValidity(fits ? "" : "The content must stay a JSON object.");
  } catch (error) {
    edited.setCustomValidity(error.message);
  }
  told.textContent = edited.validationMessage;
});

// What was changed, as the server shows it; told again when the typing pauses.
let previewing = 0;
async function preview() {
  const [typed, form] = [edited.value, edited.form];
  const body = new URLSearchParams(new FormData(form));
  try {
    const response = await fetch(form.getAttribute("action").replace(/answer$/, "preview"), { method: "POST", body });
    const text = await response.text();
    if (!response.ok || edited.value !== typed) return;
    const shown = $("#preview", new DOMParser().parseFromString(page.createHTML(text), "text/html"));
    if (shown) $("#preview").replaceWith(document.adoptNode(shown));
  } catch { /* The button asks again. */ }
}
edited?.addEventListener("input", () => {
  clearTimeout(previewing);
  previewing = setTimeout(preview, 400);
});
// What keeps a form from being sent must be seen.
edited?.addEventListener("invalid", () => { $("#redirect").open = true; });

// --- live -----------------------------------------------------------------------

// The line that waits for an agent's first delivery.
function arrived({ stream, facts }) {
  const waiting = $("[data-waiting-for]");
  if (!waiting || stream !== `agent/${waiting.dataset.waitingFor}`) return;
  const link = document.createElement("a");
  link.href = `/items/${facts.delivery_id}`;
  link.textContent = "Open it";
  waiting.replaceChildren("It has arrived. ", link);
  waiting.classList.add("arrived");
  delete waiting.dataset.waitingFor;
}

// A verification that runs on the server: how far it is, until it has ended.
async function verifying() {
  const bar = $("#verifying progress");
  if (!bar) return;
  try {
    const { running } = await (await fetch("/api/v1/trail/verification")).json();
    if (!running) return location.reload();
    [bar.max, bar.value] = [running.entries || 1, running.read];
  } catch { /* It is asked again. */ }
  setTimeout(verifying, 500);
}

let fresh = 0;
// What was sent must arrive: a page that is being left is not loaded again.
let leaving = false;
document.addEventListener("submit", () => { leaving = true; });
addEventListener("pageshow", () => { leaving = false; });

function live() {
  const source = new EventSource("/api/v1/events");
  source.addEventListener("delivery_received", (event) => {
    arrived(JSON.parse(event.data));
    const button = $("#fresh");
    if (!button) return;
    fresh += 1;
    button.hidden = false;
    button.textContent = `${fresh} new`;
  });
  const about = (event) => JSON.parse(event.data).facts?.delivery_id;
  for (const kind of ["delivery_answered", "answer_held", "answer_undone"]) {
    source.addEventListener(kind, (event) => {
      const item = $(".item");
      const waits = item?.dataset.open === "true" || $(".standing[data-until]");
      if (waits && !leaving && item.dataset.id === about(event) && !document.activeElement?.matches("textarea")) location.reload();
      if (kind === "delivery_answered") {
        const row = $(`.row[data-id="${CSS.escape(about(event) ?? "")}"]`);
        if (row && location.pathname === "/") row.classList.add("gone");
      }
    });
  }
}

$("#fresh")?.addEventListener("click", async () => {
  const response = await fetch(location.href);
  const text = await response.text();
  const next = new DOMParser().parseFromString(page.createHTML(text), "text/html");
  const list = $("#list", next);
  if (list) $("#list").replaceWith(document.adoptNode(list));
  fresh = 0;
  $("#fresh").hidden = true;
  here = null;
});

// --- keys -----------------------------------------------------------------------

const keys = [
  ["j / k", "next, previous"], ["Enter", "open"], ["x", "tick"], ["a", "approve"], ["r", "reject"],
  ["e", "change and redirect"], ["u", "undo"], ["s", "put aside"], ["v", "as it was sent"],
  ["/", "search"], ["g then i, d, y", "inbox, done, you"],
  ["g then a, t, w, p, s", "agents, trail, webhooks, people, settings"], ["?", "this"],
];

function help() {
  let box = $("#help");
  if (!box) {
    box = document.createElement("dialog");
    box.id = "help";
    box.setAttribute("aria-labelledby", "help-title");
    const title = document.createElement("h2");
    title.id = "help-title";
    title.textContent = "Keys";
    const list = document.createElement("dl");
    for (const [key, what] of keys) {
      const dt = document.createElement("dt");
      const kbd = document.createElement("kbd");
      kbd.textContent = key;
      dt.append(kbd);
      const dd = document.createElement("dd");
      dd.textContent = what;
      list.append(dt, dd);
    }
    const close = document.createElement("button");
    close.textContent = "Close";
    close.addEventListener("click", () => box.close());
    box.append(title, list, close);
    document.body.append(box);
  }
  box.open ? box.close() : box.showModal();
}

let after = "";
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && writing) { event.target.blur(); return; }
  if (writing || $("dialog[open]")) return;
  const key = event.key;
  if (after === "g") {
    after = "";
    const place = $(`[data-go="${CSS.escape(key)}"]`);
    if (place) { event.preventDefault(); location.href = place.href; }
    return;
  }
  const button = $(`.item [data-key="${CSS.escape(key)}"]`);
  const acts = {
    j: () => go(1),
    k: () => go(-1),
    x: tick,
    g: () => { after = "g"; setTimeout(() => { after = ""; }, 1500); },
    u: () => undoing?.undo() ?? $('form[action$="/undo"] button')?.click(),
    "/": () => $("#q")?.focus(),
    "?": help,
    a: () => here && answer(here.dataset.id, "approved", here),
    r: () => here && answer(here.dataset.id, "rejected", here),
    s: () => here && aside(here),
    e: () => here && (location.href = `${$("a.head", here).href}#change`),
  };
  if (button && key !== "e") { event.preventDefault(); button.click(); return; }
  if (button && key === "e") {
    event.preventDefault();
    $("#redirect").open = true;
    edited.focus();
    return;
  }
  if (acts[key]) { event.preventDefault(); acts[key](); }
});

// A hash that names no element: the browser would take the focus to it.
if (location.hash === "#change" && $("#redirect")) {
  $("#redirect").open = true;
  edited?.focus();
}
if (token) live();
verifying();
