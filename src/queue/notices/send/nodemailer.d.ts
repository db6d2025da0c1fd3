/** What of it is used: the package brings no types. */
declare module 'nodemailer' {
  interface Transport {
    /** Rejects when no recipient was taken; the error has `code` and, after an answer of the server, `responseCode`. */
    sendMail(mail: {
      readonly from: string;
      readonly to: readonly string[];
      readonly subject: string;
      readonly text: string;
      readonly headers: Readonly<Record<string, string>>;
    }): Promise<{ readonly rejected: readonly string[] }>;
    close(): void;
  }
  export function createTransport(options: {
    readonly url: string;
    readonly connectionTimeout: number;
    readonly greetingTimeout: number;
    readonly socketTimeout: number;
  }): Transport;
}
