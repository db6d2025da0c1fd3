import { searchOf } from '../../search.ts';

/** What the address of the page holds beside its path. */
export const personSearch = searchOf({});
