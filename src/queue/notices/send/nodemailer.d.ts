/** The used part of nodemailer, which brings no types. */
declare module 'nodemailer' {
  interface Transport {
    /** Rejects when no recipient was accepted; the error has `code` and, after a response of the server, `responseCode`. */
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
