/** What messages that have no name of their own are called. */
export const pageEvent = '$pageview';
export const screenEvent = '$screen';
