/** Travels inside of the page: nothing is loaded. */
export const reportStyle = `
:root {
  color-scheme: light dark;
  --ink: #16202b; --soft: #566371; --line: #dde3e9; --page: #f5f7f9; --card: #fff;
  --good: #0c6b4f; --good-back: #e2f4ec; --bad: #a3261c; --bad-back: #fdeae8; --plain: #475569; --plain-back: #e9edf2;
  --c0: #0b6e75; --c1: #d98a1f; --c2: #5a6fc0; --c3: #a8487f; --c4: #6b8e23; --c5: #94a1ae; --dot: #16202b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e8edf2; --soft: #9fabb8; --line: #2b3641; --page: #10161c; --card: #18202a;
    --good: #6fd6ae; --good-back: #12352a; --bad: #ff9d93; --bad-back: #43201d; --plain: #b6c2ce; --plain-back: #28323d;
    --c0: #3fb5bb; --c1: #e5a345; --c2: #8b9ce6; --c3: #d57fb0; --c4: #a3c255; --c5: #77848f; --dot: #e8edf2;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; letter-spacing: -.015em; margin: 0 0 .35rem; overflow-wrap: anywhere; }
h2 { font-size: 1.12rem; margin: 0 0 .7rem; }
p { margin: .4rem 0; }
.soft { color: var(--soft); }
section, dl.figures div { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
section { padding: 1.25rem 1.4rem; margin: 1.1rem 0; }
.badge { display: inline-block; border-radius: 999px; padding: .15rem .75rem; font-weight: 650; font-size: .9rem; }
.good { color: var(--good); background: var(--good-back); }
.bad { color: var(--bad); background: var(--bad-back); }
.plain { color: var(--plain); background: var(--plain-back); }
dl.figures { display: grid; gap: .8rem; margin: 1.1rem 0; }
dl.figures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }
dl.figures div { padding: .8rem 1rem; }
dl.figures dt { color: var(--soft); font-size: .85rem; }
dl.figures dd { margin: 0; font-size: 1.45rem; font-weight: 650; letter-spacing: -.01em; }
dl.figures dd { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
dl.figures dd small { display: block; font-size: .8rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: 0 0 .5rem; }
th, td { text-align: left; padding: .32rem .7rem .32rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; }
thead th { color: var(--soft); font-size: .85rem; white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; }
td.n + td:not(.n), th.n + th:not(.n) { padding-left: .6rem; }
td.day { white-space: nowrap; }
td.name, tbody th { overflow-wrap: anywhere; min-width: 8rem; max-width: 26rem; font-weight: 400; }
td.hash { font: 12px/1.5 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; min-width: 12rem; }
tr.off td, tr.off th { color: var(--bad); }
code { font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
/* Of a narrow screen the chart is moved, not shrunk until nobody can read it. */
.chart { overflow: auto hidden; }
.chart svg { min-width: 36rem; }
.chart + .scroll { margin-top: 1rem; }
details > summary { cursor: pointer; font-weight: 600; margin: .2rem 0 .7rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg text.ink { fill: var(--ink); }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .dot { fill: var(--card); stroke: var(--dot); stroke-width: 1.5; }
.f0 { fill: var(--c0); } .f1 { fill: var(--c1); } .f2 { fill: var(--c2); }
.f3 { fill: var(--c3); } .f4 { fill: var(--c4); } .f5 { fill: var(--c5); }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.2rem; padding: 0; margin: .7rem 0 0; }
ul.legend li { display: flex; align-items: center; gap: .45rem; min-width: 0; overflow-wrap: anywhere; }
ul.legend svg { width: 12px; height: 12px; flex: none; }
ul.plain-list { margin: 0; padding-left: 1.2rem; }
:focus-visible { outline: 3px solid var(--c0); outline-offset: 2px; }
@media (max-width: 40rem) {
  main { padding: 1.5rem .8rem 3rem; }
  section { padding: 1rem .9rem; }
  dl.figures { grid-template-columns: 1fr 1fr; gap: .6rem; }
  dl.figures dd { font-size: 1.2rem; }
  th, td { padding-right: .5rem; font-size: .9rem; }
  td.name, tbody th { min-width: 6.5rem; }
  thead th, thead th.n { white-space: normal; vertical-align: bottom; }
}
@media print {
  .chart svg { min-width: 0; }
  :root {
    color-scheme: light;
    --ink: #000; --soft: #444; --line: #bbb; --page: #fff; --card: #fff; --dot: #000;
    --good: #0c6b4f; --good-back: #fff; --bad: #a3261c; --bad-back: #fff; --plain: #333; --plain-back: #fff;
    --c0: #0b6e75; --c1: #d98a1f; --c2: #5a6fc0; --c3: #a8487f; --c4: #6b8e23; --c5: #94a1ae;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  section, dl.figures div { border-radius: 0; }
  .badge { border: 1px solid currentColor; }
  tr, svg, dl.figures div { break-inside: avoid; }
  h2, summary { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
`;
