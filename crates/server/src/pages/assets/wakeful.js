// What makes the pages quick. Everything here can also be done without it.
// No text from the server becomes markup except whole pages of this server.

const whole = { createHTML: (html) => html };
const page = globalThis.trustedTypes?.createPolicy("wakeful", whole) ?? whole;
const $ = (query, within = document) => within.querySelector(query);
const all = (query, within = document) => [...within.querySelectorAll(query)];
const meta = (name, within = document) => $(`meta[name="${name}"]`, within)?.content ?? "";

// --- whose page this is -----------------------------------------------------------

// A browser sends the session's cookie to every port of this host, so the cookie
// only reads. What acts is the page key: chosen here when one signs in, sent along
// once with that form, and kept for this origin alone.
const stored = (() => { try { localStorage.getItem("page-key"); return localStorage; } catch { return null; } })();
const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hash = async (text) => hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));

// Kept apart until a page shows that the sign-in succeeded.
function chooseKey() {
  if (!stored) return "address";
  const key = hex(crypto.getRandomValues(new Uint8Array(32)));
  stored.setItem("next-page-key", key);
  return key;
}
document.addEventListener("submit", ({ target }) => {
  if (!target.matches("[data-opens]")) return;
  const field = $('[name="page"]', target) ?? document.createElement("input");
  [field.type, field.name, field.value] = ["hidden", "page", chooseKey()];
  target.append(field);
});

const ofThisSession = () => stored?.getItem("page-session") === meta("session") && stored.getItem("page-key");

// The key of the session that this page belongs to, or nothing: then another
// program on this host has changed the cookie, or the key was cleared.
async function keyOfPage() {
  // Where nothing can be stored the key stays in the address. Elsewhere one that
  // comes by an address is not taken: anyone can write a link.
  if (!stored) return meta("form-token");
  for (const key of [stored.getItem("page-key"), stored.getItem("next-page-key")]) {
    if (!key || (await hash(key)) !== meta("page-key-hash")) continue;
    stored.setItem("page-key", key);
    stored.setItem("page-session", meta("session"));
    return key;
  }
  return "";
}

const token = meta("session") ? ofThisSession() || await keyOfPage() : "";
if (meta("session") && !token) {
  const here = location.pathname.replace(/^\/~[0-9a-f]{64}/, "") + location.search;
  location.replace(`/sign-in?next=${encodeURIComponent(here)}`);
  await new Promise(() => {});
}
const fill = () => { for (const field of all('input[name="token"][value=""]')) field.value = token; };
fill();
// Until here the style hides the page: the cookie alone does not show who is here.
document.documentElement.classList.add("js");

// --- the connection -----------------------------------------------------------------

// After a lost connection someone else may have our port. Nothing that signs
// anyone in is sent before the server has signed a number that we chose.
let lost = false;
let proving = null;
// Whether somebody answers who does not prove to be this server.
let other = false;

async function prove() {
  const nonce = crypto.getRandomValues(new Uint8Array(32));
  const address = `/presence?nonce=${hex(nonce)}`;
  const answer = await fetch(address, { credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer", signal: AbortSignal.timeout(5000) });
  const signature = bytes((await answer.text()).trim());
  const port = location.protocol === "https:" ? 0 : Number(location.port || 80);
  const signed = new Uint8Array([...new TextEncoder().encode("wakeful/presence/1\0"), ...nonce, port >> 8, port & 255]);
  const key = await crypto.subtle.importKey("raw", bytes(meta("log-key")), "Ed25519", false, ["verify"]);
  other = !(await crypto.subtle.verify("Ed25519", key, signature, signed));
  return !other;
}

// Whether the server is there and is the one that this page came from.
function reached() {
  if (!lost) return Promise.resolve(true);
  proving ??= prove().catch(() => false).then((proved) => {
    proving = null;
    lost = !proved;
    showConnection();
    // The other tabs look for themselves whether it is the same server.
    if (proved) tabs.postMessage({});
    return proved;
  });
  return proving;
}

// What is held becomes final on the server: without a connection nobody here knows
// whether it has, and nothing can be undone.
function showHeldHere() {
  const box = $(".standing[data-until]");
  const words = box && $("[data-final]", box);
  if (!words) return;
  const undo = $('form[action$="/undo"]', box);
  if (undo) undo.hidden = lost;
  if (!lost) {
    if (words.held) words.replaceChildren(...words.held);
    words.held = null;
  } else if (!words.held) {
    words.held = [...words.childNodes];
    words.replaceChildren(`, held until ${clock(box.dataset.until)}. Without a connection this page cannot say whether it is final${undo ? ", and no Undo can be sent" : ""}`);
  }
}

function showConnection() {
  showHeldHere();
  let box = $("#connection");
  if (!lost) { box?.remove(); return; }
  if (!box) {
    box = document.createElement("div");
    box.id = "connection";
    box.setAttribute("role", "status");
    document.body.append(box);
  }
  const words = other ? "Another program answers at this address. Reload only if you know why." : "No connection. Trying again…";
  if (box.textContent !== words) box.textContent = words;
}

function lose() {
  if (lost) return;
  lost = true;
  showHeldHere();
  reached();
}

// Every request that carries a credential goes this way.
async function request(path, more = {}) {
  if (!(await reached())) throw new TypeError("no connection");
  try {
    return await fetch(path, more);
  } catch (error) {
    if (!more.signal?.aborted) lose();
    throw error;
  }
}
document.addEventListener("submit", (event) => {
  if (!lost || event.target.method === "get") return;
  event.preventDefault();
  event.stopImmediatePropagation();
  toast("Not sent: no connection.");
}, true);
addEventListener("offline", () => { lose(); });
addEventListener("online", () => { reached(); });

const say = (text) => { $("#said").textContent = text; };

// --- moving about -------------------------------------------------------------

// Those that can be seen: what is folded away is not answered by a key.
const rows = () => all(".row").filter((row) => row.offsetParent && !row.closest("details:not([open])"));
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

// What this tab remembers from page to page.
const kept = (name) => JSON.parse(sessionStorage.getItem(name) ?? "[]");
const keep = (name, list) => sessionStorage.setItem(name, JSON.stringify(list));

const chosen = () => all('.row input[type="checkbox"]:checked').map((box) => box.value);

function ticked() {
  const some = chosen();
  const here = new Set(all('.row input[type="checkbox"]').map((box) => box.value));
  keep("ticked", [...kept("ticked").filter((id) => !here.has(id)), ...some]);
  bar(some.length);
  if (some.length) say(`${some.length} ticked`);
}

function bar(count) {
  $("#many")?.classList.toggle("on", count > 0);
  const words = $("#many .hint");
  if (words) words.textContent = `With the ${count} ticked:`;
}
document.addEventListener("change", (event) => { if (event.target.name === "id") ticked(); });

// Ticks stay while the list is another: by id.
function retick() {
  const ids = kept("ticked");
  for (const box of all('#list .row input[type="checkbox"]')) box.checked ||= ids.includes(box.value);
  bar(chosen().length);
}

// --- answering ----------------------------------------------------------------

// Gives what came of it; that it did not even arrive is told here.
async function send(path, body) {
  const sent = await ask(path, {
    headers: { "content-type": "application/json", "wakeful-form": token },
    body: JSON.stringify(body ?? {}),
  });
  if (!sent) return { told: true };
  const text = await sent.text().catch(() => "");
  try { return { ok: sent.ok, body: text ? JSON.parse(text) : {} }; } catch { return { ok: false, body: {} }; }
}

async function ask(path, more) {
  const sent = await request(path, { method: "POST", ...more }).catch(() => null);
  if (!sent) toast("Not sent: no connection.");
  else if (sent.status === 401) { toast("Not sent: you are signed out."); signedOut(); }
  return sent?.status === 401 ? null : sent;
}

// A time as people read it, to the second, since holds are seconds; today's
// without the day.
function clock(time) {
  const at = new Date(time);
  const today = at.toDateString() === new Date().toDateString();
  return at.toLocaleString([], { ...(today ? {} : { dateStyle: "medium" }), timeStyle: "medium" });
}
const readable = (text) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (iso) => clock(iso));
const refused = (sent, otherwise) => { if (!sent.told) toast(readable(sent.body.detail ?? otherwise)); };

let toasting = 0;

function toast(...parts) {
  $("#toast")?.remove();
  clearTimeout(toasting);
  const box = document.createElement("div");
  box.id = "toast";
  box.setAttribute("role", "status");
  const words = document.createElement("span");
  words.append(...parts);
  box.append(words);
  document.body.append(box);
  toasting = setTimeout(() => { box.remove(); showHeld(); }, 6000);
  return box;
}

// --- what can still be undone, on whatever page one is ----------------------------

const HELD_MS = 5000;
const past = { approved: "Approved", rejected: "Rejected", redirected: "Redirected", aside: "Put aside for an hour" };
const held = () => kept("held").filter(({ until }) => until > Date.now());
const without = (id) => held().filter((one) => one.id !== id);

// The last one stays known after its time, so that `u` can say that it is final.
function hold(id, head, status, until = Date.now() + HELD_MS) {
  const name = head.trim();
  const one = { id, head: name.length > 60 ? `${name.slice(0, 59)}…` : name, status, until };
  keep("held", [...without(id), one]);
  if (status !== "aside") keep("latest", [one]);
}

// How many undos of this tab the log has yet to tell of, by id: what it tells then
// is not about an answer that was given since.
const undoing = new Map();

function drop(id) {
  if (!kept("held").some((one) => one.id === id)) return;
  keep("held", without(id));
  if ($("#toast[data-held]")) showHeld();
}

// Answers of other people in a list of items that were answered together.
const othersAnswers = (id) => all(`.row .others[data-held="${CSS.escape(id)}"]`);

// Since when an answer is final, as the log says.
function settle(id, time) {
  const [one] = kept("latest");
  if (one?.id === id) keep("latest", [{ ...one, until: Date.parse(time), final: true }]);
  for (const button of all(`.row button[name="undo"][value="${CSS.escape(id)}"]`)) {
    button.replaceWith(`${button.dataset.verdict}, final since ${clock(time)}`);
  }
  for (const other of othersAnswers(id)) other.textContent = `${other.dataset.answer}, final since ${clock(time)}`;
  if ($('[name="undo"][value="all"]') && !$('.row button[name="undo"]')) $('[name="undo"][value="all"]').remove();
}

// What became of the last answer of this tab, as the log has told or the server
// says now. The end of its hold does not say it: if the server was stopped then,
// the answer became final when it started again.
async function tooLate() {
  const [one] = kept("latest");
  if (!one) return toast("Nothing to undo in this tab. An answer given elsewhere is undone there, or on its item.");
  const told = (words, rest) => {
    const head = document.createElement("bdi");
    head.textContent = one.head;
    toast(`${words}: `, head, ` · ${rest}`);
  };
  const answer = (status, by) => `${past[status] ?? "Answered"}${by && by !== $(".who a")?.textContent ? ` by ${by}` : ""}`;
  if (one.final) return told(answer(one.status), `Final since ${clock(one.until)}.`);
  const response = await request(`/api/v1/inbox/${one.id}`).catch(() => null);
  const now = response?.ok ? await response.json().catch(() => null) : null;
  if (!now) return told(answer(one.status), "The server does not say whether it is final.");
  if (now.held) return told(answer(now.held.status, now.held.by), `Final at ${clock(now.held.until)}.`);
  if (!now.responded_at) return told("Nothing to undo", "It waits for an answer.");
  told(answer(now.status, now.answered_by), `Final since ${clock(now.responded_at)}.`);
}

function showHeld(before = "") {
  const one = held().at(-1);
  if (!one || one.id === $(".item")?.dataset.id) {
    if (before) toast(before);
    else if ($("#toast[data-held]")) $("#toast").remove();
    return;
  }
  const head = document.createElement("bdi");
  head.textContent = one.head;
  const box = toast(before && `${before}. `, `${past[one.status] ?? "Answered"}: `, head);
  box.dataset.held = one.id;
  const button = document.createElement("button");
  const key = document.createElement("span");
  key.className = "key";
  key.textContent = " (u)";
  button.append("Undo", key);
  button.addEventListener("click", undo);
  box.append(button);
  clearTimeout(toasting);
  toasting = setTimeout(showHeld, one.until - Date.now() + 20);
}

// The latest, then the one before.
async function undo() {
  const one = held().at(-1);
  if (!one) {
    const button = $(".standing[data-until] form button");
    return button ? button.click() : tooLate();
  }
  if (busy) return;
  busy = true;
  const counted = (by) => undoing.set(one.id, (undoing.get(one.id) ?? 0) + by);
  if (one.status !== "aside") counted(1);
  const undone = one.status === "aside" ? await snooze(one.id, "") : await send(`/api/v1/inbox/${one.id}/undo`);
  if (one.status !== "aside" && !undone.ok) counted(-1);
  busy = false;
  if (undone.told) return;
  keep("held", without(one.id));
  if (!undone.ok) return refused(undone, "Too late: it is final.");
  keep("latest", []);
  const item = $(".item");
  const together = $(`.row button[name="undo"][value="${CSS.escape(one.id)}"]`);
  together?.replaceWith("It waits for an answer.");
  if (together) recount();
  if (one.status === "aside") renew();
  if (left.has(one.id)) left.get(one.id)();
  else if (item?.dataset.id === one.id) return tellThere("Taken back", () => location.reload());
  else if ($("#list")) await refresh();
  else if (item && !writes()) return tellThere("Taken back", () => { location.href = `/items/${one.id}`; });
  showHeld("Taken back");
}

// The heading of those answered together counts what still stands.
function recount() {
  const head = $("h1[data-taken]");
  if (!head) return;
  const { taken, all, done } = head.dataset;
  head.dataset.taken = taken - 1;
  head.textContent = taken > 1 ? `${taken - 1} of ${all} ${done}` : `Nothing is ${done}`;
  document.title = `${head.textContent} · Wakeful`;
}

// Says it on the page that comes next.
function tellThere(words, go) {
  keep("told", [words]);
  go();
}

// What the server says is held: after a form, or after many.
function findHeld() {
  const id = (form) => form.getAttribute("action").split("/")[2];
  const now = $(".standing[data-until]");
  const mine = now && $('form[action$="/undo"]', now);
  if (mine) hold(id(mine), $("h1").textContent, $("strong", now).textContent, Math.min(Date.parse(now.dataset.until), Date.now() + HELD_MS));
  for (const button of all('.row button[name="undo"]')) {
    hold(button.value, $(".head", button.closest(".row")).textContent, button.dataset.verdict, Date.parse(button.dataset.until));
  }
  const [told] = kept("told");
  keep("told", []);
  showHeld(told);
}
document.addEventListener("submit", ({ target }) => {
  const action = target.getAttribute("action") ?? "";
  if (action.endsWith("/undo")) drop(action.split("/")[2]);
  if (action === "/answers" && $('[name="confirmed"]', target)) keep("ticked", []);
});

// One at a time: a key that is held down answers nothing twice.
let busy = false;
// Answers of this tab that are on their way: the log may tell of them first.
const sending = new Set();

async function answer(row, status) {
  if (chosen().length) return $(`#many button[value="${status}"]`)?.click();
  if (!row) return;
  busy = true;
  const until = Date.now() + HELD_MS;
  sending.add(row.dataset.id);
  const sent = await send(`/api/v1/inbox/${row.dataset.id}/respond`, { status, hold_seconds: HELD_MS / 1000 });
  sending.delete(row.dataset.id);
  busy = false;
  if (!sent.ok) return refused(sent, "That did not work.");
  hold(row.dataset.id, headline(row), status, until);
  leave(row);
  showHeld();
}

function headline(row) {
  const head = $(".head", row).cloneNode(true);
  $(".dot", head)?.remove();
  return head.textContent;
}

// What brings back the rows that have left this list.
const left = new Map();

// Takes a row away and goes to the next.
function leave(row) {
  const list = rows();
  const next = list[list.indexOf(row) + 1] ?? list[list.indexOf(row) - 1];
  takeAway(row);
  here = null;
  if (next) $("a.head", next)?.focus();
}

function takeAway(row) {
  const mark = document.createComment("");
  row.replaceWith(mark);
  tidy();
  left.set(row.dataset.id, () => {
    left.delete(row.dataset.id);
    mark.replaceWith(row);
    tidy();
    $("a.head", row)?.focus();
  });
}

// No heading stands over nothing, and a list with nothing in it says so.
function tidy() {
  const list = $("#list");
  if (!list) return;
  entitle();
  for (const part of all("section, details.update", list)) part.hidden = !$('.row, a[rel="next"]', part);
  const calm = $(".calm", list);
  if ($("section:not([hidden])", list)) {
    // More of them wait behind a link: the first of those come by themselves.
    if (!$("section .row", list)) refresh();
    return calm?.remove();
  }
  if (calm) return;
  // What came meanwhile and is not in the list yet waits too.
  if (list.hasAttribute("data-counted") && needsAnswer()) return void refresh();
  const words = document.createElement("p");
  words.className = "calm";
  words.textContent = list.hasAttribute("data-counted") ? "Nothing needs you." : "Nothing here matches.";
  $('input[name="token"]', list).after(words);
}

async function snooze(id, hours) {
  const sent = await ask(`/items/${id}/snooze`, { body: new URLSearchParams({ token, hours }), redirect: "manual" });
  return { told: !sent, ok: sent?.type === "opaqueredirect", body: {} };
}

// For an hour; for none, it is back.
async function aside(row) {
  busy = true;
  const sent = await snooze(row.dataset.id, "1");
  busy = false;
  if (!sent.ok) return refused(sent, "That did not work.");
  hold(row.dataset.id, headline(row), "aside");
  leave(row);
  showHeld();
  renew();
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
    const response = await request(form.getAttribute("action").replace(/answer$/, "preview"), { method: "POST", body });
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
// With a change in it, sending the change is what one most likely wants. Under
// an answer that somebody else gave, nothing is.
let answered = false;
function offer() {
  const likely = edited && edited.value !== edited.defaultValue ? "redirected" : "approved";
  for (const button of all(".verdicts button[data-key]")) button.classList.toggle("main", !answered && button.value === likely);
  if (answered) for (const button of all(".item form button.main")) button.classList.remove("main");
}
edited?.addEventListener("input", offer);
// What keeps a form from being sent must be seen.
edited?.addEventListener("invalid", () => { $("#redirect").open = true; });

// --- taking along, folding ---------------------------------------------------------

// Without TLS a browser copies nothing for a page: then it is only selected.
async function copy(button) {
  const text = button.previousElementSibling;
  getSelection().selectAllChildren(text);
  const done = await navigator.clipboard?.writeText(text.textContent).then(() => true, () => false);
  button.textContent = done ? "Copied" : "Selected";
  say(button.textContent);
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

function unfold() {
  const folds = all("details", $("#details"));
  const open = folds.some((fold) => !fold.open);
  for (const fold of folds) fold.open = open;
}
document.addEventListener("click", ({ target }) => {
  if (target.matches?.("[data-copy]")) copy(target);
  if (target.matches?.("[data-unfold]")) unfold();
});

// --- time ------------------------------------------------------------------------

// How far this clock is from the server's, once it is known.
let skew = 0;

function span(seconds) {
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

// In the words of the server, as time goes by.
function age(often) {
  for (const time of all("time[datetime]")) {
    const ahead = /^(in |now)/.test(time.textContent);
    if (!ahead && !time.textContent.endsWith(" ago") || ahead !== often) continue;
    const seconds = Math.floor((Date.parse(time.dateTime) - Date.now() - skew) / 1000);
    const words = !ahead ? `${span(Math.max(0, -seconds))} ago` : seconds > 0 ? `in ${span(seconds)}` : "now";
    if (words !== time.textContent) time.textContent = words;
  }
}
for (const time of all("time.clock")) time.textContent = clock(time.dateTime);
setInterval(() => age(false), 5000);
setInterval(() => age(true), 1000);

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
    const { running } = await (await request("/api/v1/trail/verification")).json();
    if (!running) return location.reload();
    [bar.max, bar.value] = [running.entries || 1, running.read];
  } catch { /* It is asked again. */ }
  setTimeout(verifying, 200);
}

// What has come since the list was loaded: types by id.
const fresh = new Map();
// What was sent must arrive: a page that is being left is not loaded again.
let leaving = false;
document.addEventListener("submit", () => { leaving = true; });
addEventListener("pageshow", () => { leaving = false; });

// What is told by an event of the log.
function heard(kind, data) {
  if (kind === "reset") return note("Much has happened since this page was loaded.", "Load it again", () => location.reload());
  if (kind === "signed_out") return signedOut();
  if (kind === "delivery_received") {
    arrived(data);
    came(data.facts ?? {});
  }
  if (["delivery_answered", "answer_held", "answer_undone"].includes(kind)) answeredElsewhere(kind, data.facts ?? {}, data.time);
  if (kind === "delivery_timed_out") {
    renew(data.facts.delivery_id);
    if ($(".item")?.dataset.id === data.facts.delivery_id && !writes() && !leaving) again();
  }
  if (kind === "agent_status") cameOrWent(data);
}

// A device of one's own, where it is shown.
function cameOrWent({ agent_id, online }) {
  const device = $(`[data-device="${CSS.escape(agent_id)}"]`);
  const mark = device && $("[data-presence]", device);
  if (!mark) return;
  mark.textContent = online ? "online" : "offline";
  if (online) {
    const dot = document.createElement("span");
    dot.className = "dot";
    mark.prepend(dot);
  }
  $("[data-seen]", device).textContent = online ? "" : "last seen just now; ";
  say(`${agent_id}: ${mark.textContent}`);
}

// What one has begun to write is never swept away, nor what came back by Undo.
let written = $(".item")?.hasAttribute("data-written") ?? false;
for (const kind of ["input", "change"]) document.addEventListener(kind, (event) => { if (event.target.closest(".item form")) written = true; });
const writes = () => written || all(".item textarea").some((field) => field.value !== field.defaultValue || field === document.activeElement);

// The same page as it is now. What a form led to is not sent once more.
function again() {
  const id = $(".item")?.dataset.id;
  if (id && location.pathname !== `/items/${id}`) location.replace(`/items/${id}`);
  else location.reload();
}

// Rows that were changed elsewhere, as they are now; many are asked for at once.
const changed = new Set();
let renewing = 0;
function renew(id) {
  if (!$("#list")) return;
  changed.add(id);
  clearTimeout(renewing);
  renewing = setTimeout(async () => {
    const ids = [...changed];
    changed.clear();
    const next = await load(location.href);
    if (!next) return;
    for (const one of ids) renewRow(one, next);
    renewCounts(next);
    tidy();
    ticked();
  }, 200);
}

function renewRow(id, next) {
  const which = `#list .row[data-id="${CSS.escape(id ?? "")}"]`;
  const now = $(which, next);
  // One's own answer that can be undone keeps its row out of sight.
  if (!now || sending.has(id) || held().some((one) => one.id === id)) return;
  left.get(id)?.();
  const row = $(which);
  if (!row) {
    if (!fresh.has(id)) fresh.set(id, now.closest("details.update") ? "update" : "");
    return showFresh();
  }
  const [focused, ticked] = [row.contains(document.activeElement), $("input:checked", row)];
  row.replaceWith(document.adoptNode(now));
  if (here === row) { here = now; now.classList.add("here"); }
  if (focused) $("a.head", now)?.focus({ preventScroll: true });
  const box = ticked && $('input[type="checkbox"]', now);
  if (box) box.checked = true;
}

// What is said around the list: how many are put aside, and how many each agent has.
function renewCounts(next) {
  for (const which of ["#aside", "#agents-choice"]) {
    const now = $(which, next);
    if (now && $(which)) $(which).replaceWith(document.adoptNode(now));
  }
  awaitReturn();
}

// What was put aside comes back when its time is over.
let returning = 0;
function awaitReturn() {
  clearTimeout(returning);
  const at = Date.parse($("#aside")?.dataset.back ?? "");
  if (!at || !$("#list")) return;
  returning = setTimeout(refresh, Math.min(Math.max(at - Date.now() - skew, 0) + 500, 2 ** 31 - 1));
}

function answeredElsewhere(kind, { delivery_id, by, status }, time) {
  const own = kind === "answer_held" && (sending.has(delivery_id) || held().some((one) => one.id === delivery_id));
  if (kind === "answer_undone" && undoing.get(delivery_id)) undoing.set(delivery_id, undoing.get(delivery_id) - 1);
  else if (kind === "answer_undone") {
    for (const other of othersAnswers(delivery_id)) other.textContent = "It waits for an answer.";
    drop(delivery_id);
    if (kept("latest")[0]?.id === delivery_id) keep("latest", []);
    renew(delivery_id);
  } else if (kind === "answer_held" && !own) renew(delivery_id);
  if (kind === "delivery_answered") {
    drop(delivery_id);
    settle(delivery_id, time);
    if ($("#agents-choice")) renew();
  }
  const item = $(".item");
  const drafted = item?.hasAttribute("data-draft");
  // A page with a refused answer says itself who holds one.
  if (drafted && kind === "answer_held" && $(".item .standing:not(#meanwhile)")) return;
  const waits = item?.dataset.open === "true" || $(".standing[data-until]") || drafted;
  if (waits && !leaving && item.dataset.id === delivery_id) {
    if (drafted || writes()) {
      // What the page said of it when it was loaded is over.
      for (const old of all(".item .standing:not(#meanwhile)")) old.remove();
      standing(kind === "answer_undone" ? `${by} took the answer back.` : `${by} ${status} this${kind === "answer_held" ? ", and may still undo it" : ""}.`);
      answered = kind !== "answer_undone";
      offer();
    } else again();
  }
  if (kind === "delivery_answered" && fresh.delete(delivery_id)) showFresh();
  if (kind === "delivery_answered") {
    const row = $(`#list .row[data-id="${CSS.escape(delivery_id ?? "")}"]`);
    if (row && !row.classList.contains("gone")) gone(row, `${status} by ${by}`);
  }
}

// A row that somebody else answered stays where it is, and says so.
function gone(row, words) {
  row.classList.add("gone");
  row.dataset.open = "false";
  const box = $('input[type="checkbox"]', row);
  if (box) [box.checked, box.disabled] = [false, true];
  const mark = document.createElement("span");
  mark.className = "mark";
  mark.textContent = words;
  // That it was held, or until when the agent waits, is over.
  for (const old of all(".about > .mark:not([data-lasting])", row)) old.remove();
  $(".about > time", row).before(mark, " ");
  say(`${headline(row)}: ${words}`);
  ticked();
  entitle();
}

// Above the form, while one still writes in it.
function standing(text) {
  // Where an answer was refused, in the place of what was said then.
  let box = $("#meanwhile") ?? $('.item [role="alert"]');
  if (!box) {
    box = document.createElement("p");
    box.id = "meanwhile";
    box.className = "standing";
    box.setAttribute("role", "status");
    if ($("#answer")) $("#answer").before(box);
    else $(".item .lead").after(box);
  }
  box.textContent = text;
  if ($("#answer")) return;
  const link = document.createElement("a");
  link.href = `/items/${$(".item").dataset.id}`;
  link.textContent = "Open it again";
  box.append(" ", link);
}

// A quiet line in a corner that stays, with one thing to do about it.
function note(text, label, act) {
  $("#note")?.remove();
  const box = document.createElement("div");
  box.id = "note";
  box.setAttribute("role", "status");
  const button = document.createElement("button");
  button.className = "quiet";
  button.textContent = label;
  button.addEventListener("click", act);
  box.append(text, " ", button);
  document.body.append(box);
}

const signedOut = () => note("You are signed out.", "Sign in", () => location.reload());

// A browser opens six connections to a server, so all tabs share one stream:
// the tab that holds the lock reads it and tells the others.
const tabs = new BroadcastChannel("wakeful");
// The last place of the log that this page knows of: at first, that of its making.
let last = meta("place") ?? "";
let leading = false;
let stop = new AbortController();
tabs.addEventListener("message", ({ data: { ask, id, kind, data, clock, lost: gone } }) => {
  if (gone) return lose();
  if (lost) reached();
  if (ask) { if (leading && last) tabs.postMessage({ id: last, clock: skew }); return; }
  skew = clock ?? skew;
  const missed = id && !kind && isAfter(id, last);
  take(id, kind, data);
  if (missed) caughtUp();
});

// Whether a place of the log comes after another, which this page has been told of.
function isAfter(id, other) {
  const [[place, log], [before, known]] = [id.split("@"), other.split("@")];
  return log === known && Number(place) > Number(before);
}

// Something happened between the making of this page and the first word of the tab
// that listens.
function caughtUp() {
  if ($("#list")) refresh();
  else if (($(".item")?.dataset.open === "true" || $(".standing[data-until]")) && !writes() && !leaving) again();
}

// Each place of the log once, from whichever tab it comes.
function take(id, kind, data) {
  if (id) {
    const [[place, log], [before, known]] = [id.split("@"), last.split("@")];
    if (log === known && Number(place) <= Number(before) && kind !== "reset") return;
    last = id;
  }
  if (kind) heard(kind, data);
}

function tell(id, kind, data) {
  tabs.postMessage({ id, kind, data });
  take(id, kind, data);
}

// Reads the stream once, from where the last one ended.
async function listen(signal) {
  const headers = { "wakeful-form": token, ...(last && { "last-event-id": last }) };
  const response = await request("/api/v1/events", { headers, signal, cache: "no-store" });
  if (!response.ok) { response.body?.cancel(); return response.status; }
  // To the second, and not for less than a few.
  const off = Date.parse(response.headers.get("date") ?? "") - Date.now();
  skew = Math.abs(off) > 3000 ? off : 0;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    // Something comes every 15 seconds, if only to say that the server is there.
    const silence = setTimeout(() => reader.cancel(), 40000);
    const { value, done } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return 200;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const of = (name) => block.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim();
      const data = of("data");
      tell(of("id"), data && of("event"), data && JSON.parse(data));
    }
  }
}

// Reads it until the page is left, and after whatever went wrong once more.
async function lead(signal) {
  leading = true;
  for (let wait = 250; !signal.aborted; wait = Math.min(wait * 2, lost ? 2000 : 30000)) {
    const began = Date.now();
    const status = await listen(signal).catch(() => 0);
    if (signal.aborted) break;
    if (status === 401) { tell("", "signed_out"); break; }
    // However it ended: who answers next must prove itself first.
    if (status === 200 || status === 0) {
      tabs.postMessage({ lost: true });
      lose();
      if (Date.now() - began > 10000) wait = 250;
      const back = await reached();
      if (back && Date.now() - began > 1000) continue;
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait * (0.5 + Math.random()));
      for (const happens of ["online", "pagehide"]) addEventListener(happens, () => { clearTimeout(timer); resolve(); }, { once: true });
    });
  }
  if (signal === stop.signal) leading = false;
}

function live() {
  stop = new AbortController();
  const { signal } = stop;
  tabs.postMessage({ ask: true });
  if (navigator.locks) navigator.locks.request("wakeful", { signal }, () => lead(signal)).catch(() => {});
  // There are no locks without TLS: then only a tab that is seen listens.
  else if (!document.hidden) lead(signal);
}
if (token) {
  addEventListener("pagehide", () => stop.abort());
  addEventListener("pageshow", (event) => { if (event.persisted) { lose(); showHeld(); live(); } });
  if (!navigator.locks) document.addEventListener("visibilitychange", () => { stop.abort(); live(); });
}

// Another page of this server, or nothing if there is none to be had.
async function load(address) {
  const response = await request(address, { headers: { "wakeful-form": token } }).catch(() => null);
  if (!response) { toast("No connection."); return null; }
  const next = new DOMParser().parseFromString(page.createHTML(await response.text()), "text/html");
  if (meta("session", next) !== meta("session")) { signedOut(); return null; }
  return next;
}

async function refresh() {
  const next = await load(location.href);
  const list = next && $("#list", next);
  if (!list) return;
  const at = here?.dataset.id;
  const focused = here?.contains(document.activeElement);
  const unfolded = $("details.update")?.open || (fresh.size && !needsAnswer());
  $("#list").replaceWith(document.adoptNode(list));
  if (unfolded && $("details.update")) $("details.update").open = true;
  if (next) renewCounts(next);
  fresh.clear();
  $("#fresh").hidden = true;
  fill();
  entitle();
  left.clear();
  // What one has answered oneself and may still undo stays out of sight.
  for (const { id } of held()) {
    const row = $(`#list .row[data-id="${CSS.escape(id)}"]`);
    if (row) takeAway(row);
  }
  here = at ? $(`.row[data-id="${CSS.escape(at)}"]`) : null;
  here?.classList.add("here");
  if (here && focused) $("a.head", here)?.focus({ preventScroll: true });
  retick();
  remember();
}
$("#fresh")?.addEventListener("click", refresh);

// --- from item to item --------------------------------------------------------------

const waiting = (list) => all('#list .row[data-open="true"]', list).filter((row) => !row.closest("details:not([open])")).map((row) => row.dataset.id);

// The list one came from, and its order.
function remember() {
  if (!$("#list")) return;
  sessionStorage.setItem("list", location.pathname + location.search);
  keep("order", waiting(document));
}

// To the next that waits, or the one before; what came meanwhile comes last.
async function onward(step, otherwise) {
  const place = sessionStorage.getItem("list") ?? "/";
  const list = await load(place);
  if (!list) { leaving = false; return; }
  const id = $(".item").dataset.id;
  const now = waiting(list);
  if (now.includes(id)) keep("order", now);
  const order = kept("order");
  const at = order.indexOf(id);
  const ahead = step > 0 ? order.slice(at + 1) : order.slice(0, Math.max(at, 0)).reverse();
  let next = ahead.find((one) => now.includes(one));
  if (step > 0 && !now.includes(id)) next ??= now[0];
  if (next) location.href = `/items/${next}`;
  else otherwise(place);
}

// Asked once before something that was written is left behind.
let warned = false;
function unsent() {
  if (warned || !$(".item") || !writes()) return false;
  warned = true;
  toast("What you wrote is not sent. Once more leaves it.");
  return true;
}

function walk(step) {
  if (!unsent()) onward(step, () => toast(step > 0 ? "That was the last." : "That was the first."));
}

// Out of sight, and on to the next.
async function asideItem() {
  const item = $(".item");
  if (item.dataset.open !== "true" || !$("#hours")) return $('.item [data-key="s"]')?.click();
  if (unsent()) return;
  busy = leaving = true;
  const sent = await snooze(item.dataset.id, "1");
  busy = false;
  if (!sent.ok) { leaving = false; return refused(sent, "That did not work."); }
  hold(item.dataset.id, $(".item h1").textContent, "aside");
  await onward(1, (place) => { location.href = place; });
}

document.addEventListener("click", (event) => {
  if (!event.target.closest?.("a.next") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (!unsent()) onward(1, (place) => { location.href = place; });
});

// The form is sent as it is, and one goes on to the next.
async function answerItem(status) {
  const form = $("#answer");
  if (!form) return takesNone();
  if (status === "redirected" && !form.reportValidity()) return;
  // Asked what shall become of the changes, the same key once more leaves them out.
  const chosen = $(`.verdicts button[value="${status}-as-delivered"]`)?.value ?? status;
  const filled = () => {
    const fields = new URLSearchParams(new FormData(form));
    fields.set("status", chosen);
    return String(fields);
  };
  busy = leaving = true;
  const until = Date.now() + HELD_MS;
  const body = filled();
  const focused = document.activeElement;
  const sent = await ask(form.getAttribute("action"), { body: new URLSearchParams(body) });
  const next = sent && new DOMParser().parseFromString(page.createHTML(await sent.text()), "text/html");
  busy = false;
  if (next && !meta("session", next) && sent.ok) { toast("Not sent: you are signed out."); signedOut(); }
  else if (next) {
    const fault = $('.fault[role="alert"]', next)?.textContent ?? (sent.ok ? "" : "That did not work.");
    if (!fault) {
      hold($(".item").dataset.id, $(".item h1").textContent, status, until);
      // Who writes on is not led away: the letters would be keys on the next item.
      const begun = document.activeElement !== focused && document.activeElement?.matches("textarea, input, select");
      if (!begun && filled() === body) {
        await onward(1, (place) => { location.href = place; });
        return;
      }
      standing(`You ${status} this. What you wrote since then is not sent.`);
      answered = true;
      offer();
      leaving = false;
      return;
    }
    standing(readable(fault));
    if (sent.status === 409) {
      answered = true;
      offer();
      noneTaken(readable(fault));
    } else if ($('.verdicts button[value$="-as-delivered"]', next)) {
      $(".verdicts").replaceWith(document.adoptNode($(".verdicts", next)));
      $(".verdicts button").focus();
      toast(readable(fault), ` Enter sends yours, ${status === "rejected" ? "r rejects" : "a approves"} it as delivered.`);
    } else toast(readable(fault));
  }
  leaving = false;
}

// Why this item takes no answer, and how to go on.
function noneTaken(why) {
  toast(`${why} j leads to the next.`);
  $("a.next")?.focus();
}

function takesNone() {
  const why = $(".item .standing p, .item [role=\"alert\"], .item .only-read")?.innerText ?? "";
  noneTaken(`No answer is taken here: ${why.replace(/\.?$/, ".")}`);
}

// What has come that this list would show: one that is narrowed asks the server.
let counting = 0;
function came({ delivery_id, type }) {
  if (!$("#fresh")) return;
  // A place of the log may be told that the page was made after.
  if ($(`#list .row[data-id="${CSS.escape(delivery_id ?? "")}"]`) || left.has(delivery_id)) return;
  if (!location.search) {
    fresh.set(delivery_id, type);
    return showFresh();
  }
  clearTimeout(counting);
  counting = setTimeout(async () => {
    const next = await load(location.href);
    if (!next) return;
    const there = new Set([...all("#list .row").map((row) => row.dataset.id), ...left.keys()]);
    fresh.clear();
    for (const row of all("#list .row", next)) {
      if (!there.has(row.dataset.id)) fresh.set(row.dataset.id, row.closest("details.update") ? "update" : "");
    }
    showFresh();
  }, 300);
}

function needsAnswer() {
  return [...fresh.values()].filter((type) => type !== "update").length;
}

// Into a list that says that nothing waits, what waits comes by itself.
function showFresh() {
  if (needsAnswer() && $("#list[data-counted] .calm")) return refresh();
  const button = $("#fresh");
  const updates = needsAnswer() ? "" : fresh.size > 1 ? " updates" : " update";
  button.hidden = !fresh.size;
  button.textContent = `${fresh.size} new${updates}`;
  entitle();
}

// The title counts what waits, in the list or not yet in it.
function entitle() {
  const list = $("#list[data-counted]");
  if (!list) return;
  const rows = all('.row[data-open="true"]', list).filter((row) => !row.closest("details.update"));
  const waiting = rows.length + needsAnswer();
  const more = waiting && $('section a[rel="next"]', list) ? "+" : "";
  document.title = `${waiting ? `(${waiting}${more}) ` : ""}Inbox · Wakeful`;
}

// --- keys -----------------------------------------------------------------------

const keys = [
  ["j / k", "next, previous: row or item"], ["Enter", "open"], ["x", "tick"],
  ["a", "approve: this, or those ticked"], ["r", "reject"],
  ["e", "change"], ["Ctrl Enter", "redirect with what you wrote"], ["f", "feedback"],
  ["u", "undo; again, the one before"], ["s", "put aside for an hour"], ["v", "as it was sent, and back"], ["o", "open all of it, and close it"],
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
      const pair = document.createElement("div");
      pair.append(dt, dd);
      list.append(pair);
    }
    const close = document.createElement("button");
    close.textContent = "Close";
    close.addEventListener("click", () => box.close());
    box.append(close, title, list);
    document.body.append(box);
  }
  box.open ? box.close() : box.showModal();
}

let after = "";
document.addEventListener("keydown", (event) => {
  const key = event.key;
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("#edited, #answer #feedback")) {
    event.preventDefault();
    if (!event.repeat && !busy && !leaving) answerItem("redirected");
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (key === "Escape" && writing) { event.target.blur(); return; }
  if (writing || $("dialog[open]")) return;
  if (event.repeat && !"jk".includes(key)) return;
  if ((busy || leaving) && "aresu".includes(key)) return;
  if (after === "g") {
    after = "";
    const place = $(`[data-go="${CSS.escape(key)}"]`);
    if (place) { event.preventDefault(); if (!unsent()) location.href = place.href; }
    return;
  }
  const item = $(".item");
  const acts = {
    j: () => go(1),
    k: () => go(-1),
    x: tick,
    g: () => { after = "g"; setTimeout(() => { after = ""; }, 1500); },
    u: undo,
    "/": () => { if ($("#q")) $("#q").focus(); else location.href = "/#q"; },
    "?": help,
    a: () => answer(here, "approved"),
    r: () => answer(here, "rejected"),
    s: () => here && aside(here),
    e: () => here && (location.href = `${$("a.head", here).href}#change`),
    v: () => $('[data-key="v"]')?.click(),
    o: () => $("[data-unfold]")?.click(),
  };
  if (item) Object.assign(acts, {
    j: () => !event.repeat && walk(1),
    k: () => !event.repeat && walk(-1),
    a: () => answerItem("approved"),
    r: () => answerItem("rejected"),
    s: asideItem,
    f: () => $("#feedback")?.focus(),
    e: () => {
      if (!$("#redirect")) return $("#answer") ? undefined : takesNone();
      $("#redirect").open = true;
      edited.focus();
    },
  });
  if (acts[key]) { event.preventDefault(); acts[key](); }
});

if (location.hash === "#q") $("#q")?.focus();
// A hash that names no element: the browser would take the focus to it.
if (location.hash === "#change" && $("#redirect")) {
  $("#redirect").open = true;
  edited?.focus();
}
// A page that shows something once is not made again by loading it again.
const once = $("[data-once]");
if (once) history.replaceState(null, "", once.dataset.once);
if (token) {
  for (const link of all(".item .back")) link.href = sessionStorage.getItem("list") ?? "/";
  retick();
  remember();
  awaitReturn();
  findHeld();
  live();
}
verifying();
