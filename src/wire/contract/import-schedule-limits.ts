/** Limits of import schedules, in minutes. */
export const everyMinutesMin = 5;
export const everyMinutesMax = 10_080;
export const overlapMinutesMax = 43_200;
export const overlapMinutesDefault = 120;
