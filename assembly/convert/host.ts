// Calls to the program for decisions that need it. Each is made once for the same bytes, while the answer is cached.

/** Returns the meaning of a key that is new in the object or list of pairs with this number: an entry (entries.ts). */
export declare function meaningOfKey(table: i32, from: usize, to: usize): usize;

/** Returns the answer to a memo's question about the record (answers.ts); 0 means that the record is unusual. */
export declare function answerTo(memo: i32): usize;

/** Converts milliseconds of a zone's clock to UTC. */
export declare function fromZone(zone: i32, ms: f64): f64;

/** Whether a JSON string, with its quotes, has two characters. */
export declare function hasTwoCharacters(from: usize, to: usize): bool;

/**
 * Counts a repeated UUID (36 characters at `uuid`) of a content or a name: writes the text that distinguishes it from the earlier
 * ones to `at` and returns its length.
 */
export declare function countUuid(isContent: bool, uuid: usize, at: usize): usize;
