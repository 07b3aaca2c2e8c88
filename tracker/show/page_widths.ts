/** Pixels of a figure as a page shows it, beside a narrow one for a phone. */
export const PAGE_WIDTH = 1130;
export const PHONE_WIDTH = 390;
