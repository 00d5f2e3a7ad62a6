/** What is wrong with the file: each rule once, why it is there, what helps, and where. */
import { PROFILES, RULES, type Finding, type Profile } from "../../../../generated/typescript/src/index.js";
import { RULE_TEXTS } from "../../../../generated/inspector/data.js";
import { fill, h } from "../dom.js";
import { say } from "../live.js";
import { reportOf, type Opened } from "../opened.js";
import { problemOf } from "../problems.js";
import type { FileSet } from "../sets.js";
import { count, counted, cut, visible } from "../text.js";
import { together, VERDICTS } from "../verdict.js";

const FEW = 20; // findings of one rule that are shown at first
const GRAVEST = ["error", "warning", "info"] as const;
const ABOUT: Readonly<Record<string, string>> = {
  strict: "what a careful reader asks of a file (the default)",
  ggml: "what ggml's own reader refuses",
  spec: "what the written specification asks",
  lenient: "what makes a file unreadable here",
};
const ASKERS: Readonly<Record<string, string>> = {
  documentation: "the format's documentation", ggml: "ggml's reader", safety: "safety",
};

export function findingsView(opened: Opened, set: FileSet | undefined): HTMLElement {
  const place = h("div");
  const select = h(
    "select",
    {},
    ...PROFILES.map(({ name }) => h("option", { value: name, selected: name === "strict" }, `${name}: ${ABOUT[name] ?? ""}`)),
  );
  const show = async (profile: Profile, aloud: boolean) => {
    const report = await reportOf(opened, profile).catch(problemOf);
    if ("advice" in report) {
      fill(place, h("p", { class: "problem", role: "alert" }, `${report.title}. ${report.advice}`));
      return;
    }
    const { verdict, findings } = together(report, set);
    const about = VERDICTS[verdict];
    fill(
      place,
      h("p", { class: `verdict ${verdict}` }, h("strong", {}, about.title), ` ${about.meaning}`),
      ...byRule(findings).map(([rule, some]) => ruleCard(rule, some)),
      findings.length ? null : h("p", {}, "Nothing to report."),
      scope(opened),
    );
    if (aloud) say(`${about.title} ${counted(findings.length, "finding")}`);
  };
  select.addEventListener("change", () => void show(select.value as Profile, true));
  void show("strict", false);
  return h("div", { class: "findings" }, h("div", { class: "tools" }, h("label", {}, "Profile ", select)), place);
}

function scope({ tally }: Opened): HTMLElement {
  const skipped = tally.skipped
    ? ` The padding at ${counted(tally.skipped, "place")} behind the header was not read.`
    : "";
  return h(
    "p",
    { class: "hint" },
    `This page checks the structure of a file: header, keys, values, tensor infos, places of the data.${skipped} `,
    "What keys mean, vocabulary, chat templates and the tensors' numbers are checked by the command ",
    h("code", {}, "ggufspec validate --data FILE"),
    ".",
  );
}

/** Rules with their findings, the gravest first, else in the order of the file. */
function byRule(findings: readonly Finding[]): [string, Finding[]][] {
  const rules = new Map<string, Finding[]>();
  for (const finding of findings) {
    const some = rules.get(finding.rule);
    if (some) some.push(finding);
    else rules.set(finding.rule, [finding]);
  }
  const grave = (some: Finding[]) => Math.min(...some.map((finding) => GRAVEST.indexOf(finding.severity)));
  return [...rules].sort(([, a], [, b]) => grave(a) - grave(b));
}

function ruleCard(id: string, findings: readonly Finding[]): HTMLElement {
  const text = RULE_TEXTS[id];
  const source = RULES.find((rule) => rule.id === id)?.source ?? [];
  const { severity, hint } = findings[0];
  const asks = source.map((name) => ASKERS[name] ?? name).join(", ");
  const list = h("ul", { class: "places" }, ...findings.slice(0, FEW).map(item));
  const more = h("button", { type: "button" }, `Show all ${count(findings.length)}`);
  more.addEventListener("click", () => {
    list.append(...findings.slice(FEW).map(item));
    more.remove();
  });
  return h(
    "article",
    { class: `rule ${severity}` },
    h("h3", {}, h("span", { class: `badge ${severity}` }, severity), ` ${id} ${text?.name ?? ""}`, findings.length > 1 ? h("span", { class: "note" }, count(findings.length)) : null),
    list,
    findings.length > FEW ? more : null,
    text?.reason ? h("p", {}, h("strong", {}, "Why: "), text.reason) : null,
    hint ? h("p", {}, h("strong", {}, "What to do: "), hint) : null,
    text?.example ? h("p", { class: "hint" }, "Example: ", text.example) : null,
    asks ? h("p", { class: "hint" }, `Asked for by ${asks}.`) : null,
  );
}

function item(finding: Finding): HTMLElement {
  const where = [
    finding.offset === null ? "" : `byte ${count(finding.offset)}`,
    finding.path,
  ].filter(Boolean);
  return h(
    "li",
    {},
    cut(visible(finding.message), 2000),
    where.length ? h("span", { class: "where" }, ` ${visible(where.join(", "))}`) : null,
  );
}
