import { oneOf, searchOf } from '../../search.ts';

export const periods = ['30d', '90d', '365d'] as const;
export type Period = (typeof periods)[number];

/** What the address of the page holds beside its path. */
export const usageSearch = searchOf({ period: oneOf(...periods) });
