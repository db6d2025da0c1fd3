import faker from '@faker-js/faker/locale/en.js';

/** In English: the other languages would take megabytes. */
export const create = (): unknown => faker;
