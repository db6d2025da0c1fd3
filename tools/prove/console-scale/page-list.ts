/** What a page is looked at for. Selectors are those of the browser. */
export interface PageLook {
  /** Below the project. */
  readonly path: string;
  /** There once the page shows what it is about. */
  readonly shown: string;
  /** A click there is answered … */
  readonly click: string;
  /** … when this is there. */
  readonly answer: string;
  /** What is scrolled in, where there is a long list. */
  readonly scroll?: string;
}

/** Ids of objects in the service, for detail pages. */
export interface PageIds {
  readonly transformation: number;
  readonly importApp: number;
  readonly run: string;
  readonly person: string;
}

const row = '#main tr[data-index]';
const table = '#main [role=region][tabindex="0"]';
const panel = '[role=dialog]';
/** The first cell that can be read, which opens the row. */
const inRow = `${row} td:nth-child(2)`;
const palette = { click: 'header button[aria-keyshortcuts], header button:has(kbd)', answer: panel };
const rows = { shown: row, ...palette };
const opened = { shown: row, click: inRow, answer: panel };
const tab = (index: number): string => `#main [role=tab]:nth-of-type(${index})`;

/** Every page of console/src/router.tsx. */
export function pageList({ transformation, importApp, run, person }: PageIds): readonly PageLook[] {
  return [
    { path: 'home', shown: '#main figure canvas', ...palette },
    { path: 'transformations', ...palette, shown: '#main ol > li', scroll: '#main' },
    {
      path: `transformations/${transformation}`,
      shown: '#main [role=tab]',
      click: tab(4),
      answer: `${tab(4)}[aria-selected=true]`,
    },
    { path: 'imports', ...rows, scroll: table },
    { path: 'imports/new', shown: '#main button h3, #main li button', ...palette },
    { path: `imports/${importApp}`, ...rows },
    {
      path: `imports/${importApp}/runs/${run}`,
      shown: '#main [role=tab]',
      click: tab(4),
      answer: `${tab(4)}[aria-selected=true]`,
    },
    { path: 'live', shown: '#main [role=group] button', ...palette },
    { path: 'events', ...opened, scroll: table },
    { path: 'persons', ...rows, scroll: table },
    { path: `persons/${person}`, ...opened, scroll: table },
    { path: 'groups', ...opened, scroll: table },
    { path: 'warnings', ...opened },
    { path: 'dead-letters', ...opened, scroll: table },
    { path: 'activity', ...opened, scroll: table },
    { path: 'usage', ...rows },
    { path: 'agreements', shown: '#main section', ...palette },
    { path: 'keys', ...rows },
    { path: 'settings', shown: '#main form, #main section input', ...palette },
    { path: 'users', ...rows },
    { path: 'status', shown: '#main section dl', ...palette },
  ];
}
