import { oneOf, searchOf } from '../../search.ts';

export const periods = ['30d', '90d', '365d'] as const;
export type Period = (typeof periods)[number];

/** Search parameters of the page. */
export const usageSearch = searchOf({ period: oneOf(...periods) });
