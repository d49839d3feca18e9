// People come in as people do: by a link, or with a name and a password, in
// forms that a browser sends.

import { ask } from "./browser.mjs";

export const PASSWORD = "a quiet place to work";

export async function comeByLink(window, name) {
  const { link } = await ask(`make a link for ${name}`);
  await window.goto(link);
  await window.click("main form button");
  await window.at("/you");
}

export async function choosePassword(window) {
  await window.visit("/you");
  await window.fill("#new", PASSWORD);
  await window.click("form:has(#new) button.main");
  const told = 'main [role="status"]';
  const said = await window.text(told);
  if (!said.startsWith("Your password was set.")) throw new Error(`a new password is told as ${said}`);
  await window.click(`${told} a`);
  await window.at("/");
}

export async function signIn(window, name) {
  await window.goto("/sign-in");
  await window.fill("#name", name);
  await window.fill("#password", PASSWORD);
  await window.click("form:has(#password) button.main");
  await window.at("/");
}

export async function signOut(window) {
  await window.visit("/you");
  await window.click('form[action$="/sign-out"] button');
  await window.at("/sign-in");
}
