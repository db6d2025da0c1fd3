/** What an id is derived from, before the messageId. */
export const messageIdParts: readonly string[] = ['segment'];
