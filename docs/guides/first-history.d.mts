/** Types of first-history.mjs, for the test that compares it with the command. */
export function createMapper(): (message: unknown) =>
  | {
      readonly uuid: string;
      readonly distinctId: string;
      readonly timestamp: string;
      readonly event: string;
      readonly properties: Readonly<Record<string, unknown>>;
    }
  | undefined;
