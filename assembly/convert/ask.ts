// What only the program can say. It is asked once about the same bytes, as long as the answer is remembered.

/** What a key means that has not been met in the object or list of pairs with this number: an entry (entries.ts). */
export declare function meaningOfKey(table: i32, from: usize, to: usize): usize;

/** The answer to a memo's question about the record (answers.ts); 0: the record is odd. */
export declare function answerTo(memo: i32): usize;

/** Milliseconds in UTC of those of a clock in a zone. */
export declare function fromZone(zone: i32, ms: f64): f64;

/** Whether a text of JSON, with its quotes, says two characters. */
export declare function saysTwoCharacters(from: usize, to: usize): bool;

/**
 * The UUID at `uuid`, 36 characters, of a content or a name, once more: writes what tells it from the ones before to `at`; gives how
 * many bytes.
 */
export declare function countUuid(isContent: bool, uuid: usize, at: usize): usize;
