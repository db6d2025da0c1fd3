import { oneOf, searchOf } from '../../search.ts';

export const runTabs = ['progress', 'check', 'rejected', 'reconciliation', 'preflight'] as const;
export type RunTab = (typeof runTabs)[number];

/** What the address of the page holds beside its path. */
export const importRunSearch = searchOf({ tab: oneOf(...runTabs) });
